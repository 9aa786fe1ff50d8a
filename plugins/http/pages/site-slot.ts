import type { Media } from '../../../kernel/http/route.ts'
import { defineSlot } from '../../../kernel/slot.ts'

export interface Site {
  /** Folder with the files of '/assets/NAME'. Names include a content hash. NAME.br and NAME.gz are optional. */
  readonly assets: URL
  /** Returns the page for every path that a browser opens; its script reads the path. */
  page(): Media
  /** Called once the server listens. `origin` is its address for browsers. */
  listening(origin: string): void
}

/** At most one plugin fills it, with the pages at '/'. */
export const siteSlot = defineSlot<Site>('http.site', { keyOf: () => '/' })
