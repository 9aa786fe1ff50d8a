import { Migration } from '@mikro-orm/migrations'

/** Existing grants are listen grants. */
export class Grants0002 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`alter table "grants" add column "use" varchar(6) not null default 'listen'`)
    this.addSql(`alter table "grants" add column "entries" ${json} null`)
  }
}
