import { Migration } from '@mikro-orm/migrations'

export class Rules0007 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "rules_field_value" (
      "rule_id" varchar(26) not null references "rules" ("id") on update cascade on delete cascade,
      "key" varchar(64) not null,
      "value" ${json} not null,
      primary key ("rule_id", "key"))`)
    this.addSql('create index "rules_field_value_key_index" on "rules_field_value" ("key")')
  }
}
