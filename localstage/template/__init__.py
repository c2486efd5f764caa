"""What ``template.yaml`` declares, as the model that a stage runs from; and the resources a stage must make first.

``load`` reads, ``localstage.template.provision`` makes tables, queues and secrets, and
``localstage.template.custom_resources`` runs custom resources.
"""

from localstage.template.attributes import Attributes, Live
from localstage.template.loading import load

__all__ = ["Attributes", "Live", "load"]
