import { Migration } from '@mikro-orm/migrations'
import { operatorId } from '../../../kernel/identity/identity.ts'

export class Rules0003 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`alter table "rules" add column "placed_by" varchar(32) not null default ''`)
    this.addSql(
      `update "rules" set "placed_by" = case when "placed_by_superadmin" then '${operatorId}' else "owner" end`
    )
    this.addSql('alter table "rules" drop column "placed_by_superadmin"')
    this.addSql('create index "rules_placed_by_index" on "rules" ("placed_by")')
    this.addSql(`alter table "rules" add column "definition_before" ${json} null`)
    this.addSql(`alter table "rules" add column "former_targets" ${json} null`)
  }
}
