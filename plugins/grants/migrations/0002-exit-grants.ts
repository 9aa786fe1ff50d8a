import { Migration } from '@mikro-orm/migrations'

/** Existing grants are listen grants that were given by hand. */
export class Grants0002 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`alter table "grants" add column "use" varchar(6) not null default 'listen'`)
    this.addSql(`alter table "grants" add column "entries" ${json} null`)
    this.addSql('alter table "grants" add column "source" varchar(40) null')
    this.addSql(`create table "grants_lost_rule" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "actor" varchar(32) not null,
      "lost_at" bigint not null)`)
    this.addSql('create index "grants_lost_rule_lost_at_index" on "grants_lost_rule" ("lost_at")')
  }
}
