alter system set synchronous_standby_names = 'ANY 1 (*)';
select pg_reload_conf();
