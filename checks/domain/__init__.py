"""What a serving engine is made of, as far as several rules ask for it.

Device ops and their calls (`ops`, `call_targets`), messages between processes (`messages`,
`message_roles`, `cpp_places`, `bitfields`), tensors and their keys (`tensors`, `keys`, `indices`),
and the copies of one thing for different hardware (`siblings`, `hardware_reach`). `change_facts`
and `impact_tags` say what a change consists of, `speculative_mode` and `baselines` what it may
influence, `conditions` compares what two places run under. Nothing here judges: that is for
`checks.rules`.
"""
