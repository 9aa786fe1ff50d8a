import type { EntityManager } from '@mikro-orm/sql'

/** The service `secrets`: encrypts texts that plugins store and must read again, such as keys of users or of other services. */
export interface Secrets {
  /**
   * Returns the text encrypted, in a third more characters and about 80. `em` is the transaction that stores it. `context`
   * is authenticated: name the place, such as the table, the column and the row, so that no row opens in another one.
   */
  seal(text: string, context: string, em: EntityManager): Promise<string>
  /** Returns the text. Throws if it was changed, was sealed for another context or with another key. */
  open(sealed: string, context: string): string
}
