// What a page can show and do, told in its document: one machine's memory has all of it, a team server what its rows hold and a
// role may see. The page hides the rest, so that no view is shown that nobody would answer.

export interface Here {
  /** Of a team server: who is signed in; null for one machine's memory. */
  team: { team: string; person: string; role: string } | null
  /** Addresses of the views there are; null for all. */
  views: readonly string[] | null
  /** Sides of a session, the first of them first; null for all. */
  tabs: readonly string[] | null
}

export const MEMORY: Here = { team: null, views: null, tabs: null }
