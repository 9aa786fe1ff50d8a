create role sluice login;
create database sluice owner sluice encoding 'UTF8' template template0;
