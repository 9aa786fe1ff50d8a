/** The identity provider that has signed a user in. */
export interface SessionProvider {
  readonly name: string // at most 32 characters
  readonly maxAgeSecs: number // its sessions end after this time
  readonly sid?: string | undefined // of the session at the provider, if it has one
}

/** Sessions that have ended at their provider. */
export type EndedAtProvider = { readonly provider: string } & (
  | { readonly sid: string }
  | { readonly userId: string; readonly which: 'all' | 'without sid' }
)
