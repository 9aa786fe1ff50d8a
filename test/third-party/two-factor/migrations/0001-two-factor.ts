import { Migration } from 'sluice/plugin'

export class TwoFactor0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "two_factor" (
      "user_id" varchar(32) not null primary key,
      "secret" varchar(255) not null,
      "is_active" boolean not null,
      "last_step" bigint not null,
      "recovery" ${json} not null)`)
  }
}
