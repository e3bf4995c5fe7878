-- HAMLET (2021), figure 1: drivers on the way to riders whom they did not pick up.
q1: RETURN T.district, COUNT(*), SUM(T.duration)
PATTERN SEQ(Request R, Travel T+, NOT Pickup P)
WHERE [driver, rider]
GROUP-BY T.district
WITHIN 30 min SLIDE 1 min
