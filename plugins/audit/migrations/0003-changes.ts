import { Migration } from '@mikro-orm/migrations'

export class Audit0003 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`alter table "audit_entry" add column "changes" ${json} null`)
  }
}
