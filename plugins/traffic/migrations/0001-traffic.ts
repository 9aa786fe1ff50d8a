import { Migration } from '@mikro-orm/migrations'

export class Traffic0001 extends Migration {
  override up(): void {
    this.addSql(`create table "traffic_series" (
      "id" integer not null primary key autoincrement,
      "user_id" varchar(32) not null,
      "client_id" varchar(26) not null,
      "rule_id" varchar(26) not null default '',
      "shown_id" varchar(26) not null default '',
      "target" varchar(264) not null default '')`)
    this.addSql(
      'create unique index "traffic_series_key_unique" on "traffic_series" ("user_id", "client_id", "rule_id", "target")'
    )
    this.addSql(
      `create index "traffic_series_rule_id_index" on "traffic_series" ("rule_id") where rule_id <> ''`
    )
    this.addSql(
      `create index "traffic_series_shown_id_index" on "traffic_series" ("shown_id") where shown_id <> ''`
    )
    this.addSql(`create table "traffic_sample" (
      "series" integer not null,
      "span_secs" integer not null,
      "ts" integer not null,
      "bytes_in" bigint not null,
      "bytes_out" bigint not null,
      "connections" bigint not null default 0,
      "refused" bigint not null default 0,
      "datagrams_in" bigint not null default 0,
      "datagrams_out" bigint not null default 0,
      primary key ("series", "span_secs", "ts")) without rowid`)
    this.addSql(`create table "traffic_pending" (
      "client_id" varchar(26) not null,
      "id" varchar(26) not null,
      "body" text not null,
      primary key ("client_id", "id"))`)
    this.addSql(`create table "traffic_removed_rule" (
      "rule_id" varchar(26) not null primary key,
      "shown_id" varchar(26) not null,
      "owner" varchar(32) not null,
      "removed_at" bigint not null)`)
    this.addSql('create index "traffic_removed_rule_owner_index" on "traffic_removed_rule" ("owner")')
    this.addSql(
      'create index "traffic_removed_rule_removed_at_index" on "traffic_removed_rule" ("removed_at")'
    )
  }
}
