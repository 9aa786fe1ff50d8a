import { Migration } from '@mikro-orm/migrations'

export class Links0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "links" (
      "id" varchar(26) not null primary key,
      "near_id" varchar(26) not null,
      "far_id" varchar(26) not null,
      "direction" varchar(7) not null,
      "hosts" ${json} null,
      "udp_wanted" boolean not null,
      "note" varchar(255) null,
      "state" varchar(10) not null,
      "state_reason" varchar(64) null,
      "state_since" bigint not null,
      "near_revision" bigint not null,
      "far_revision" bigint not null,
      "updated_at" bigint not null)`)
    this.addSql('create unique index "links_near_id_far_id_unique" on "links" ("near_id", "far_id")')
    this.addSql('create index "links_far_id_index" on "links" ("far_id")')
    this.addSql(`create table "links_use" (
      "rule_id" varchar(26) not null,
      "link_id" varchar(26) not null,
      primary key ("rule_id", "link_id"))`)
    this.addSql('create index "links_use_link_id_index" on "links_use" ("link_id")')
    this.addSql(`create table "links_endpoint" (
      "client_id" varchar(26) not null primary key,
      "port" integer not null,
      "hosts" ${json} null)`)
    this.addSql(`create table "links_key" (
      "client_id" varchar(26) not null primary key,
      "pin" varchar(64) not null,
      "next_pin" varchar(64) null,
      "remote_addr" varchar(64) not null,
      "changed_at" bigint not null)`)
    this.addSql('create unique index "links_key_pin_unique" on "links_key" ("pin")')
    this.addSql('create unique index "links_key_next_pin_unique" on "links_key" ("next_pin")')
    this.addSql(`create table "links_sent_settings" (
      "id" varchar(6) not null primary key,
      "max_idle" integer not null,
      "dead_secs" integer not null,
      "lease_hours" integer not null)`)
  }
}
