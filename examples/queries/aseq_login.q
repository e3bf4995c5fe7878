-- A-Seq (2014), section 1, application I: wrong passwords submitted after a user name, from one IP.
RETURN IP, COUNT(*)
PATTERN SEQ(TypeUsername, TypePassword, ClickSubmit)
WHERE TypePassword.value != TypeUsername.Password
GROUP-BY IP
WITHIN 10 seconds
