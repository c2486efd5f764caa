"""Turns ``template.yaml`` into the model that a stage runs, and creates the resources that must exist first.

``load`` reads the template, ``localstage.template.provision`` creates tables, queues and secrets, and
``localstage.template.custom_resources`` runs custom resources.
"""

from localstage.template.attributes import Attributes, Live
from localstage.template.loading import load

__all__ = ["Attributes", "Live", "load"]
