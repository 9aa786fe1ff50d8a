import { Migration } from '@mikro-orm/migrations'

export class Notify0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "notify_object" (
      "subject" varchar(32) not null,
      "object" varchar(128) not null,
      "state" varchar(32) not null,
      "kind" varchar(32) null,
      "reported" varchar(32) not null,
      "since" bigint not null,
      "due_at" bigint null,
      "keep_until" bigint null,
      "name" varchar(100) not null,
      "owner" varchar(32) null,
      "reported_at" ${json} not null,
      primary key ("subject", "object"))`)
    this.addSql(`create index "notify_object_due_at_index" on "notify_object" ("due_at")`)
    this.addSql(`create index "notify_object_keep_until_index" on "notify_object" ("keep_until")`)
    this.addSql(`create table "notify_message" (
      "id" varchar(26) not null primary key,
      "kind" varchar(32) not null,
      "at" bigint not null,
      "closes_at" bigint null,
      "owner" varchar(32) null)`)
    this.addSql(`create index "notify_message_closes_at_index" on "notify_message" ("closes_at")`)
    this.addSql(`create index "notify_message_kind_at_index" on "notify_message" ("kind", "at")`)
    this.addSql(`create index "notify_message_owner_id_index" on "notify_message" ("owner", "id")`)
    this.addSql(`create table "notify_part" (
      "message" varchar(26) not null,
      "owner" varchar(32) not null,
      "count" int not null,
      "names" ${json} not null,
      primary key ("message", "owner"))`)
    this.addSql(`create index "notify_part_owner_message_index" on "notify_part" ("owner", "message")`)
    this.addSql(`create table "notify_delivery" (
      "message" varchar(26) not null,
      "channel" varchar(32) not null,
      "state" varchar(9) not null,
      "owner" varchar(32) null,
      "attempts" int not null,
      "first_at" bigint null,
      "next_at" bigint not null,
      "error" varchar(255) null,
      primary key ("message", "channel"))`)
    this.addSql(`create index "notify_delivery_channel_state_next_at_index"
      on "notify_delivery" ("channel", "state", "next_at")`)
    this.addSql(`create table "notify_rule" (
      "rule" varchar(26) not null primary key,
      "owner" varchar(32) not null,
      "failure" varchar(64) null,
      "is_failed" boolean not null)`)
    this.addSql(`create table "notify_expiry" (
      "plugin" varchar(32) not null primary key,
      "reported_until" bigint not null)`)
    this.addSql(`create table "notify_channel" (
      "name" varchar(32) not null primary key,
      "plain_host" varchar(255) null,
      "last_success_at" bigint null,
      "last_error" varchar(255) null)`)
  }
}
