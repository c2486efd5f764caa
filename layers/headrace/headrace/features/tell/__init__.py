"""Tell: a queue, a bus or a webhook of the operator hears of what is stored."""

from headrace.core.feature import Feature

FEATURE = Feature(name="tell", functions=("send_webhooks", "tell_others"))
