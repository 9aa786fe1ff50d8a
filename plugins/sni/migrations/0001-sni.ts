import { Migration } from '@mikro-orm/migrations'

const ruleKey =
  '"rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade'

export class Sni0001 extends Migration {
  override up(): void {
    this.addSql(`create table "sni_patterns" (${ruleKey}, "pattern" varchar(255) not null)`)
    this.addSql(`create table "sni_fallbacks" (${ruleKey})`)
  }
}
