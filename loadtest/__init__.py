"""Sends events to a stage over its public API and checks that none is lost.

===========  ========================================================================================
``client``   target, WebSocket, a stage as a child process, chat events and frames
``checker``  compares what was accepted with what can be read back; verdict, latencies
``sending``  HTTP and WebSocket senders with retries, open loop, queue depths, progress
``chat``     generated conversations, IRC logs and memberships, their replay, the Locust users
``ski``      lift rides and the queries about them
``ads``      ad clicks and the queries about them
===========  ========================================================================================

Imports: ``localstage.client`` ← ``client`` ← ``checker`` ← ``sending`` ← ``chat``, ``ski``, ``ads`` ← the commands
``python -m loadtest.demo``, ``python -m loadtest.load`` and ``locust -f loadtest/locustfile.py``.
"""
