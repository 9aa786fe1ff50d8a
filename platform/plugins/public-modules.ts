const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

/** The modules of `exports` in package.json. The single-file agent has a module of its own for this one. */
export const publicModules: Readonly<Record<string, URL>> = {
  'sluice/plugin': new URL(`../../plugins/public.${extension}`, import.meta.url),
  'sluice/agent-plugin': new URL(`../../agent/public.${extension}`, import.meta.url),
  'sluice/kit': new URL(`../../kit/public.${extension}`, import.meta.url)
}
