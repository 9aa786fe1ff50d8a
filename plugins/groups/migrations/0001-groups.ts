import { Migration } from '@mikro-orm/migrations'

export class Groups0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "groups_clients" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "clients" ${json} not null)`)
  }
}
