import { Migration } from '@mikro-orm/migrations'

export class Auth0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "auth_password" (
      "user_id" varchar(32) not null primary key,
      "hash" varchar(255) not null,
      "change_required" boolean not null,
      "changed_at" bigint not null,
      "expires_at" bigint null)`)
    this.addSql(`create table "auth_session" (
      "id" varchar(26) not null primary key,
      "user_id" varchar(32) not null,
      "token_hash" varchar(64) not null,
      "key_hash" varchar(64) null,
      "remote_addr" varchar(45) not null,
      "created_at" bigint not null,
      "last_seen_at" bigint not null,
      "method" varchar(16) not null default 'session',
      "factors" ${json} not null,
      "fresh_at" bigint not null,
      "provider" varchar(32) null,
      "max_age_secs" int null,
      "sid_hash" varchar(64) null)`)
    this.addSql('create index "auth_session_user_id_index" on "auth_session" ("user_id")')
    this.addSql('create index "auth_session_sid_hash_index" on "auth_session" ("sid_hash")')
    this.addSql('create unique index "auth_session_token_hash_unique" on "auth_session" ("token_hash")')
    this.addSql(`create table "auth_known_address" (
      "id" varchar(64) not null primary key,
      "user_id" varchar(32) not null,
      "used_at" bigint not null)`)
    this.addSql('create index "auth_known_address_user_id_index" on "auth_known_address" ("user_id")')
    this.addSql(`create table "auth_throttle" (
      "id" varchar(64) not null primary key,
      "times" ${json} not null,
      "locks" int not null,
      "locked_until" bigint not null,
      "updated_at" bigint not null)`)
    this.addSql('create index "auth_throttle_updated_at_index" on "auth_throttle" ("updated_at")')
    this.addSql(`create table "auth_ticket" (
      "id" varchar(64) not null primary key,
      "user_id" varchar(32) not null,
      "key_hash" varchar(64) null,
      "network" varchar(64) not null,
      "step" varchar(32) not null,
      "methods" ${json} not null,
      "passed" ${json} not null,
      "factors" ${json} not null,
      "tries" int not null,
      "expires_at" bigint not null)`)
    this.addSql('create index "auth_ticket_user_id_index" on "auth_ticket" ("user_id")')
  }
}
