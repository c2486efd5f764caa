"""The local stage: runs ``template.yaml`` whole on one machine, without AWS and without Docker."""
