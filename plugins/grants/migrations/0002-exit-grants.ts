import { Migration } from '@mikro-orm/migrations'

/** Existing grants are listen grants that were given by hand. */
export class Grants0002 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`alter table "grants" add column "use" varchar(6) not null default 'listen'`)
    this.addSql(`alter table "grants" add column "entries" ${json} null`)
    this.addSql('alter table "grants" add column "source" varchar(40) null')
  }
}
