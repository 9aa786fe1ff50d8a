// The language of the page: the browser's, until the user chooses. It is settled before anything is drawn.
import { en, type Text } from './en.ts'

export const languages = { en: 'English', de: 'Deutsch' } as const
export type Language = keyof typeof languages

const key = 'sluice.language'

export const language: Language = (() => {
  const wanted = [localStorage.getItem(key), ...navigator.languages.map(name => name.slice(0, 2))]
  return wanted.find((name): name is Language => name !== null && name in languages) ?? 'en'
})()

/** The form of its numbers and times: that of the browser, where it has one of this language. */
export const locale: string = navigator.languages.find(name => name.startsWith(language)) ?? language

export let text: Text = en

export async function loadText(): Promise<void> {
  if (language === 'de') text = (await import('./de.ts')).de
  document.documentElement.lang = language
}

export function chooseLanguage(chosen: Language): void {
  localStorage.setItem(key, chosen)
  location.reload()
}
