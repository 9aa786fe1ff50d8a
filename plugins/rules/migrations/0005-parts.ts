import { Migration } from '@mikro-orm/migrations'

export class Rules0005 extends Migration {
  override up(): void {
    this.addSql('alter table "rules" add column "parent" varchar(26) null')
    this.addSql('create index "rules_parent_index" on "rules" ("parent")')
    this.addSql(`create table "rules_refused_part" (
      "parent" varchar(26) not null,
      "client_id" varchar(26) not null,
      "code" varchar(64) not null,
      primary key ("parent", "client_id"))`)
    this.addSql('create index "rules_refused_part_client_id_index" on "rules_refused_part" ("client_id")')
  }
}
