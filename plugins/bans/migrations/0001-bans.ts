import { Migration } from '@mikro-orm/migrations'

export class Bans0001 extends Migration {
  override up(): void {
    this.addSql(`create table "bans_policy" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "new_connections" integer null,
      "failed_handshakes" integer null,
      "within_secs" integer not null,
      "for_secs" integer not null,
      "live" varchar(4) not null)`)
    this.addSql(`create table "bans_ban" (
      "id" varchar(26) not null primary key,
      "client_id" varchar(26) not null,
      "rule_id" varchar(26) not null,
      "owner" varchar(32) not null,
      "source" varchar(64) not null,
      "cause" varchar(32) not null,
      "live" varchar(4) not null,
      "times" integer not null,
      "reason" varchar(256) null,
      "made_by" varchar(32) null,
      "from_ms" bigint not null,
      "until_ms" bigint not null,
      "lifted_at" bigint null,
      "lifted_by" varchar(32) null,
      "is_sent" integer not null)`)
    this.addSql('create index "bans_ban_client" on "bans_ban" ("client_id", "until_ms")')
    this.addSql('create index "bans_ban_cause" on "bans_ban" ("client_id", "cause", "is_sent")')
    this.addSql('create index "bans_ban_owner" on "bans_ban" ("client_id", "owner", "id")')
    this.addSql('create index "bans_ban_rule" on "bans_ban" ("rule_id", "id")')
  }
}
