import { Migration } from '@mikro-orm/migrations'

const counts = ['bytes_in', 'bytes_out', 'connections', 'dns_failures', 'failovers', 'rejected']
  .map(name => `"${name}" bigint not null`)
  .join(', ')

const datagrams = ['datagrams_in', 'datagrams_out', 'overflows']
  .map(name => `"${name}" bigint not null default 0`)
  .join(', ')

export class Stats0001 extends Migration {
  override up(): void {
    this.addSql(`create table "stats_row" (
      "client_id" varchar(26) not null,
      "epoch" varchar(32) not null,
      "rule_id" varchar(26) not null,
      "kind" varchar(16) not null,
      "key" varchar(264) not null,
      ${counts},
      ${datagrams},
      primary key ("client_id", "epoch", "rule_id", "kind", "key"))`)
    this.addSql('create index "stats_row_kind_key_index" on "stats_row" ("kind", "key")')
    this.addSql(`create table "stats_total" (
      "rule_id" varchar(26) not null,
      "kind" varchar(16) not null,
      "key" varchar(264) not null,
      "client_id" varchar(26) not null,
      "owner" varchar(32) not null,
      ${counts},
      "updated_at" bigint not null,
      ${datagrams},
      primary key ("rule_id", "kind", "key"))`)
    this.addSql('create index "stats_total_client_id_index" on "stats_total" ("client_id")')
    this.addSql('create index "stats_total_owner_index" on "stats_total" ("owner")')
    this.addSql(`create table "stats_epoch" (
      "client_id" varchar(26) not null,
      "epoch" varchar(32) not null,
      "seq" bigint not null,
      "committed_at" bigint not null,
      "minute" bigint not null default 0,
      "complete_seq" bigint not null default 0,
      primary key ("client_id", "epoch"))`)
    this.addSql(`create table "stats_removed_rule" (
      "rule_id" varchar(26) not null primary key,
      "client_id" varchar(26) not null,
      "owner" varchar(32) not null,
      "is_last" boolean not null)`)
    this.addSql('create index "stats_removed_rule_client_id_index" on "stats_removed_rule" ("client_id")')
  }
}
