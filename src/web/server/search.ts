// Searches: as `recollect search --json` tells them, and a page at a time with facets, as the page shows them.
import { Hono } from 'hono'
import { answer, type SearchDocument, searchDocument } from '../../query/answer.ts'
import { searchPage } from '../../query/search-page.ts'
import type { Reader } from '../../store/reader/index.ts'
import type { Memory } from './memory.ts'
import { Params } from './params.ts'
import { searchOptions, searchPageQuestion } from './questions.ts'

/** Of what names a session without a title. */
export const MAX_PROMPT = 200

export function searchRoutes(memory: Memory): Hono {
  const routes = new Hono()
  routes.get('/', async (context) => {
    const params = new Params(context)
    const handle = memory.handle()
    const found = await answer(handle, params.text('q') ?? '', searchOptions(params, handle))
    return context.json(withPrompts(handle, searchDocument(found)))
  })
  routes.get('/page', async (context) => {
    const params = new Params(context)
    const handle = memory.handle()
    const query = params.text('q') ?? ''
    return context.json(
      withPrompts(handle, await searchPage(handle, memory.briefs(), query, searchPageQuestion(params))),
    )
  })
  return routes
}

/** With what was asked first, for sessions without a title. */
function withPrompts<F extends SearchDocument>(handle: Reader, found: F): F {
  const prompts = handle.sessions.firstPrompts(found.sessions.map((one) => one.session_uid))
  const named = found.sessions.map((one) => ({
    ...one,
    first_prompt: (prompts.get(one.session_uid) ?? '').slice(0, MAX_PROMPT),
  }))
  return { ...found, sessions: named }
}
