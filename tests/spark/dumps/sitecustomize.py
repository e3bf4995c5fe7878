"""Lets every Python of a session of Spark print what its threads do, when it is sent SIGUSR1 or crashes."""

import faulthandler
import signal

faulthandler.enable()
faulthandler.register(signal.SIGUSR1)
