import type { Media } from '../../../kernel/http/route.ts'
import { defineSlot } from '../../../kernel/slot.ts'

export interface Site {
  /** Folder of files for '/assets/NAME'. Each name has a hash of its content; NAME.br and NAME.gz may be beside it. */
  readonly assets: URL
  /** Returns the page of every path that a browser opens: its script reads the path. */
  page(): Media
  /** Called when the server listens. `origin` is where browsers reach it. */
  listening(origin: string): void
}

/** At most one plugin has the pages at '/'. */
export const siteSlot = defineSlot<Site>('http.site', { keyOf: () => '/' })
