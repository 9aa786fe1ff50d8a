import { Migration } from '@mikro-orm/migrations'

const max = Number.MAX_SAFE_INTEGER

/** Brings usage that was added up before it had a bound within it. */
export class Quota0003 extends Migration {
  override up(): void {
    this.addSql(`update "quota" set "used" = min("used", ${max}), "credit" = min("credit", ${max})
      where max("used", "credit") > ${max}`)
  }
}
