// A line of input at the bottom of the screen.
import type { Key } from './screen.ts'

const maxChars = 400

export interface Prompt {
  readonly question: string
  readonly text: string
  done(text: string): void
}

/** Returns the prompt after a key, or its text as `done` after Enter; neither after Escape. */
export function editPrompt(
  prompt: Prompt,
  key: Key
): { readonly prompt: Prompt } | { readonly done: string } | object {
  const { name, ctrl = false, meta = false, sequence = '' } = key
  if (name === 'escape') return {}
  if (name === 'return' || name === 'enter') return { done: prompt.text }
  if (name === 'backspace') return { prompt: { ...prompt, text: prompt.text.slice(0, -1) } }
  if (ctrl && name === 'u') return { prompt: { ...prompt, text: '' } }
  const isText = !ctrl && !meta && /^[\x20-\x7e]+$/.test(sequence)
  return { prompt: isText ? { ...prompt, text: (prompt.text + sequence).slice(0, maxChars) } : prompt }
}
