import { Migration } from '@mikro-orm/migrations'

const counts = ['connections', 'refused', 'datagrams_in', 'datagrams_out']

export class Traffic0002 extends Migration {
  override up(): void {
    for (const column of counts)
      this.addSql(`alter table "traffic_sample" add column "${column}" bigint not null default 0`)
    for (const [column, length] of [
      ['rule_id', 26],
      ['shown_id', 26],
      ['target', 264]
    ] as const)
      this.addSql(
        `alter table "traffic_series" add column "${column}" varchar(${length}) not null default ''`
      )
    this.addSql('drop index "traffic_series_user_id_client_id_unique"')
    this.addSql(
      'create unique index "traffic_series_key_unique" on "traffic_series" ("user_id", "client_id", "rule_id", "target")'
    )
    this.addSql(
      `create index "traffic_series_rule_id_index" on "traffic_series" ("rule_id") where rule_id <> ''`
    )
    this.addSql(
      `create index "traffic_series_shown_id_index" on "traffic_series" ("shown_id") where shown_id <> ''`
    )
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
