(umask 077 && runuser -u postgres -- pg_dump --format=custom sluice > /root/sluice.dump)
