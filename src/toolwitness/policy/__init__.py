"""What may happen, who may decide it and until when. Pure: no clock, no disk, no network; times are passed in.

Every verdict names its rule and gives its reason, and a rule that cannot be evaluated refuses.
"""
