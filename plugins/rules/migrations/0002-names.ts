import { Migration } from '@mikro-orm/migrations'

export class Rules0002 extends Migration {
  override up(): void {
    this.addSql('alter table "rules" add column "name" varchar(63) null')
    this.addSql('alter table "rules" add column "description" varchar(255) null')
    // A draining rule frees its name, as it frees its port. A group rule itself is on no client; its members are.
    this.addSql(`create unique index "rules_name_unique" on "rules" ("client_id", "owner", "name")
      where name is not null and client_id <> '' and state <> 'draining'`)
    this.addSql('create index "rules_name_index" on "rules" ("name") where name is not null')
  }
}
