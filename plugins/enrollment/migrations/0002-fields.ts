import { Migration } from '@mikro-orm/migrations'

export class Enrollment0002 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`alter table "enrollment" add column "fields" ${json} null`)
  }
}
