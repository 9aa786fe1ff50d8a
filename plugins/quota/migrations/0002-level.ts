import { Migration } from '@mikro-orm/migrations'

export class Quota0002 extends Migration {
  override up(): void {
    this.addSql('alter table "quota" add column "level_told" int null')
  }
}
