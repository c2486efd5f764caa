"""``make demo STREAM=ski``: lift rides from many clients, every question asked and checked against what was sent."""
