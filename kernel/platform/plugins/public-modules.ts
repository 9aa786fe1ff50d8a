const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

/** The modules of `exports` in package.json. The single-file agent replaces this module. */
export const publicModules: Readonly<Record<string, URL>> = {
  'sluice/plugin': new URL(`../../../plugins/public.${extension}`, import.meta.url),
  'sluice/agent-plugin': new URL(`../../../agent/public.${extension}`, import.meta.url),
  'sluice/kit': new URL(`../../../kit/public.${extension}`, import.meta.url)
}
