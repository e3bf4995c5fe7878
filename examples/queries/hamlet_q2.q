-- HAMLET (2021), figure 1: pool riders who were dropped off. The paper says R.type for R.request.
q2: RETURN T.district, COUNT(*), AVG(T.speed)
PATTERN SEQ(Request R, Travel T+, Dropoff D)
WHERE [driver, rider] AND R.request = Pool
GROUP-BY T.district
WITHIN 30 min SLIDE 5 min
