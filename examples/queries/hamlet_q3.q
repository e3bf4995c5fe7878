-- HAMLET (2021), figure 1: requests that were cancelled while the driver was in slow traffic.
q3: RETURN T.district, COUNT(*), SUM(T.duration)
PATTERN SEQ(Request R, Travel T+, Cancel C)
WHERE [driver, rider] AND T.speed < 10
GROUP-BY T.district
WITHIN 20 min SLIDE 1 min
