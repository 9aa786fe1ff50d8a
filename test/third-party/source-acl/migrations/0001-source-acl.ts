import { Migration } from 'sluice/plugin'

export class SourceAcl0001 extends Migration {
  override up(): void {
    this.addSql(`create table "source_acl" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "allow" json not null,
      "deny" json not null)`)
  }
}
