import { Migration } from '@mikro-orm/migrations'

export class Rules0002 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`alter table "rules" add column "values_before" ${json} null`)
  }
}
